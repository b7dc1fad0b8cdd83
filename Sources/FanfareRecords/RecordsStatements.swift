package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum RecordsStatements {
    /// All statements, by the name of their type.
    package static let all: [any PostgresStatement.Type] = [
        AbortCampaign.self, ActualIdentity.self, AdoptDatabase.self, AppNames.self, AppUse.self,
        AreCampaignsUnchecked.self, AreRulesUnchecked.self, AuthorsLimits.self, CampaignActionLog.self,
        CampaignErrors.self, CampaignHistory.self, CampaignTimes.self, CampaignWaves.self, CanaryStanding.self,
        CancelEvent.self, CancelEvents.self, CancelKey.self, CountAttempts.self, CreateAPIToken.self,
        DatabaseNow.self, DeviceOwner.self, DevicesOfOthers.self, DropCampaign.self, DropRule.self,
        EmitEvents.self, EndSession.self, EventEnds.self, EventHead.self, EventIDAt.self, EventOutcomes.self,
        EventPushes.self, EventRun.self, EventVariants.self, EventsOfKey.self, ExportDevices.self,
        ExportDevicesWithTokens.self, FindCampaignRun.self, FindDevices.self, FindEvents.self, FindNamed.self,
        FindPruned.self, FindRun.self, FindTrial.self, FindWaiting.self, ForgetFeedbackHook.self, ForgetUser.self,
        HasAutovacuum.self, HasRelation.self, IsDaemonAlive.self, IsSessionEnded.self, JudgeWhen.self,
        LastDeliveries.self, LastRuns.self, LimitDevices.self, ListAPITokens.self, ListBacklog.self,
        ListDaemons.self, ListDevices.self, ListFeedbackHooks.self, ListHealth.self, ListLiveCampaigns.self,
        ListQueues.self, ListSubscribers.self, ListTokens.self, ListUnsent.self, MarkCampaignsFromFile.self,
        MarkRulesFromFile.self, MissingPrivileges.self, MissingRoles.self, NextRun.self, NoteTokenUse.self,
        OutcomeMeanings.self, PauseCampaign.self, PolicyErrors.self, PruneReasons.self, PrunedSince.self,
        PutCampaigns.self, PutPolicies.self, PutRules.self, ReadCursorSecret.self, ReadyAges.self,
        RecordedIdentity.self, RegisterDevice.self, ReplayEvent.self, ReplayFeedback.self, RestoreDevices.self,
        ResumeCampaign.self, ResumeFeedback.self, RevokeAPIToken.self, RuleErrors.self, RuleOutcomes.self,
        RuleVariant.self, RuleVersions.self, RuleWeeks.self, RunningCampaigns.self, SampleDevices.self,
        SchemaVersion.self, SessionLimits.self, SetPreference.self, ShowDevice.self, ShowEvent.self, SnoozeUser.self,
        StartCampaign.self, StoredCampaigns.self, StoredPolicies.self, StoredRules.self, SubscribeDevices.self,
        TailEvents.self, TailPushes.self, TailStart.self, TestCampaign.self, UnknownTimeZones.self,
        UnplannedEvents.self, UnregisterDevice.self, UnregisterDeviceByID.self, UnsubscribeDevices.self,
        UserDevices.self, UserPreferences.self, UserPushes.self, WhyRows.self, WhyVerdicts.self,
    ]
}
