package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum StoreStatements {
    /// All statements, by the name of their type.
    package static let all: [any PostgresStatement.Type] = [
        ActivateRules.self, AddTraffic.self, AdvanceFeedback.self, AdvancePlan.self, AllTargets.self,
        AnswersByReason.self, AreManyWaiting.self, AreQuestionsDue.self, AskLater.self, BeginFeedback.self,
        BeginSleep.self, BlowFuse.self, CampaignDrafts.self, Checkpoint.self, ClaimBatches.self, ClaimGated.self,
        ClaimPaced.self, ClaimRequest.self, CloseBatches.self, CloseFuses.self, ClosedBatches.self,
        CountsOverTime.self, EmitDigests.self, EmitPayloads.self, EndBatches.self, EndCancelled.self,
        EndChoreAlarms.self, EndQueryRun.self, EndQuestion.self, EndSleep.self, EnterInstance.self,
        EnterTimeline.self, EventTypeRuleCounts.self, FailFeedback.self, FailQueryRun.self, FeedbackHooks.self,
        FetchDeviceFields.self, FetchDevices.self, FetchEvents.self, FetchRuleVersions.self, FetchSuppressions.self,
        FetchVariables.self, FindImport.self, FindRequest.self, FinishGates.self, FinishRuns.self, FireDue.self,
        FlushCommit.self, FoldStats.self, FoldTraffic.self, ForgetActions.self, ForgetAnswers.self,
        ForgetAudiences.self, ForgetBatches.self, ForgetCancels.self, ForgetCollapseKeys.self, ForgetEvents.self,
        ForgetFeedback.self, ForgetGates.self, ForgetGrants.self, ForgetImports.self, ForgetKeys.self,
        ForgetRequests.self, ForgetRuns.self, ForgetTraffic.self, GatherEvents.self, HiddenTables.self,
        ImportDevices.self, IsLoadedFrom.self, IsRingDayOver.self, IsStandby.self, JudgeCanaries.self,
        KeepRequest.self, LimitEvents.self, LiveGates.self, LiveQuiet.self, LiveRates.self, LockActivation.self,
        LockPlan.self, LockQuestion.self, LogLengths.self, NewCancels.self, NewPreferences.self, NewestEvents.self,
        NextCampaign.self, NextDue.self, NextOpenDigest.self, NextPaced.self, NextQuarantinedEvent.self,
        NextQuestion.self, NoteAction.self, NoteImport.self, NoteNewest.self, NotePlanProblem.self,
        NotifyFeedback.self, NumberFeedback.self, OpenPlan.self, OpenQueries.self, OpenedCursors.self,
        OtherInstances.self, OutboxAhead.self, OutboxSizes.self, OutcomesOverTime.self, PlanChosen.self,
        PlanDevices.self, PlanForUser.self, PlanNative.self, PlanPacedRound.self, PlanQuarantinedEvent.self,
        PlanRound.self, PlanTopics.self, PlanUsers.self, ProbePaths.self, Publications.self, PutFeedbackHook.self,
        QuarantineEvents.self, QuarantinedEventRules.self, QueryRuns.self, RaiseChoreAlarm.self, ReadFeedback.self,
        ReadInstallation.self, RecentAnswers.self, RefundRate.self, RefuseCampaign.self, RefuseQuarantinedEvent.self,
        RefuseRules.self, RegisterTokens.self, ReleaseBatches.self, ReleaseClaims.self, ReleaseFeedbackHooks.self,
        RenewLease.self, Reschedule.self, Rescue.self, RetriedDeliveries.self, ServerEncoding.self,
        SessionsAtWork.self, SettleGrants.self, ShareAnswers.self, StandingBatches.self, StoreAudience.self,
        StoreAudienceFailure.self, StoreBadgeFailure.self, StoreFinding.self, StoreForeignEvent.self,
        StoreMalformedEvent.self, StoredFuses.self, SweepGate.self, TakeCampaign.self, TakeCaps.self,
        TakeFeedbackHook.self, TakeQueryRun.self, TopicIDs.self, TryLock.self, UncheckedRules.self, Unlock.self,
        WaitingEvents.self,
    ]
}
