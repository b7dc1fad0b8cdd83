package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum StoreStatements {
    /// All statements.
    package static let all = types.map { StatementText(name: $0.name, sql: $0.sql) } + values.map(\.text)

    private static let types: [any PostgresStatement.Type] = [
        ActivateRules.self, AddTraffic.self, AdvanceFeedback.self, AdvancePlan.self, BeginFeedback.self,
        BlowFuse.self, Checkpoint.self, ClaimBatches.self, ClaimGated.self, ClaimPaced.self, CloseBatches.self,
        ClosedBatches.self, EndBatches.self, EndCancelled.self, EnterInstance.self, FailFeedback.self,
        FailQueryRun.self, FetchDeviceFields.self, FetchDeviceRange.self, FetchDevices.self, FetchEvents.self,
        FetchRuleVersions.self,
        FetchSuppressions.self, FetchVariables.self, FindImport.self, FlushCommit.self, FoldTraffic.self,
        ForgetGrants.self, GatherEvents.self, ImportDevices.self, LiveGates.self, LockPlan.self,
        LockQuestion.self, NewCancels.self, NextDue.self, NextPaced.self, NextQuestion.self, NoteAction.self,
        OpenPlan.self, OtherInstances.self, OutboxAhead.self, OutboxSizes.self, PlanChosen.self,
        PlanDevices.self, PlanForUser.self, PlanNative.self, PlanPacedRound.self, PlanRound.self,
        PlanTopics.self, ProbePaths.self, QuarantineEvents.self, ReadFeedback.self, RecentAnswers.self,
        RefundRate.self, RefuseRules.self, RegisterTokens.self, ReleaseBatches.self, ReleaseClaims.self,
        RenewLease.self, Rescue.self, RetriedDeliveries.self, SettleGrants.self, ShareAnswers.self,
        StoreBadgeFailure.self, StoreFinding.self, SweepGate.self, TakeCaps.self, TopicIDs.self,
        UncheckedRules.self,
    ]

    private static let values: [any StatementValue] = [
        SQL.allTargets, SQL.answersByReason, SQL.areManyWaiting, SQL.areQuestionsDue, SQL.askLater,
        SQL.beginSleep, SQL.campaignDrafts, SQL.claimRequest, SQL.closeFuses, SQL.countsOverTime,
        SQL.emitDigests, SQL.emitPayloads, SQL.endChoreAlarms, SQL.endQueryRun, SQL.endQuestion, SQL.endSleep,
        SQL.enterTimeline, SQL.eventTypeRuleCounts, SQL.feedbackHooks, SQL.findRequest, SQL.finishGates,
        SQL.finishRuns, SQL.fireDue, SQL.foldStats, SQL.forgetActions, SQL.forgetAnswers, SQL.forgetAudiences,
        SQL.forgetBatches, SQL.forgetCancels, SQL.forgetCollapseKeys, SQL.forgetEvents, SQL.forgetFeedback,
        SQL.forgetGates, SQL.forgetImports, SQL.forgetKeys, SQL.forgetRequests, SQL.forgetRuns,
        SQL.forgetTraffic, SQL.hiddenTables, SQL.isLoadedFrom, SQL.isRingDayOver, SQL.isStandby,
        SQL.judgeCanaries, SQL.keepRequest, SQL.limitEvents, SQL.liveQuiet, SQL.liveRates, SQL.lockActivation,
        SQL.logLengths, SQL.newPreferences, SQL.newestEvents, SQL.nextCampaign, SQL.nextOpenDigest,
        SQL.nextQuarantinedEvent, SQL.noteImport, SQL.noteNewest, SQL.notePlanProblem, SQL.notifyFeedback,
        SQL.numberFeedback, SQL.openQueries, SQL.openedCursors, SQL.outcomesOverTime, SQL.planQuarantinedEvent,
        SQL.planUsers, SQL.publications, SQL.putFeedbackHook, SQL.quarantinedEventRules, SQL.queryRuns,
        SQL.raiseChoreAlarm, SQL.readInstallation, SQL.refuseCampaign, SQL.refuseQuarantinedEvent,
        SQL.releaseFeedbackHooks, SQL.reschedule, SQL.serverEncoding, SQL.sessionsAtWork, SQL.standingBatches,
        SQL.storeAudience, SQL.storeAudienceFailure, SQL.storeForeignEvent, SQL.storeMalformedEvent,
        SQL.storedFuses, SQL.takeCampaign, SQL.takeFeedbackHook, SQL.takeQueryRun, SQL.tryLock, SQL.unlock,
        SQL.waitingEvents,
    ]
}
