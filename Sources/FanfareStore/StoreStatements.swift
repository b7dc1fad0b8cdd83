package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum StoreStatements {
    /// All statements.
    package static let all = types.map { StatementText(name: $0.name, sql: $0.sql) } + values.map(\.text)

    private static let types: [any PostgresStatement.Type] = [
        ActivateRules.self, AddTraffic.self, AdvancePlan.self, BlowFuse.self, Checkpoint.self,
        ClaimBatches.self, ClaimGated.self, ClaimPaced.self, CloseBatches.self, EndBatches.self,
        EndCancelled.self, EnterInstance.self, FetchDeviceFields.self, FetchDeviceRange.self, FetchDevices.self,
        FetchEvents.self, FetchRuleVersions.self, FetchSuppressions.self, FetchVariables.self, FlushCommit.self,
        GatherEvents.self, LiveGates.self, LockPlan.self, NewCancels.self, NextDue.self, NextPaced.self,
        OtherInstances.self, PlanChosen.self, PlanPacedRound.self, PlanRound.self, RecentAnswers.self,
        RefundRate.self, ReleaseBatches.self, ReleaseClaims.self, RenewLease.self, Rescue.self,
        SettleGrants.self, ShareAnswers.self, SweepGate.self, TakeCaps.self, UncheckedRules.self,
    ]

    private static let values: [any StatementValue] = [
        SQL.advanceFeedback, SQL.allTargets, SQL.answersByReason, SQL.areManyWaiting, SQL.areQuestionsDue,
        SQL.askLater, SQL.beginFeedback, SQL.beginSleep, SQL.campaignDrafts, SQL.claimRequest, SQL.closeFuses,
        SQL.closedBatches, SQL.countsOverTime, SQL.divideByZone, SQL.emitDigests, SQL.emitPayloads, SQL.emitScheduled,
        SQL.endChoreAlarms, SQL.endShapes,
        SQL.endQueryRun, SQL.endQuestion, SQL.endSleep, SQL.enterTimeline, SQL.eventTypeRuleCounts,
        SQL.failFeedback, SQL.failQueryRun, SQL.feedbackHooks, SQL.findImport, SQL.findRequest, SQL.findTopicChange,
        SQL.finishGates,
        SQL.finishRuns, SQL.fireDue, SQL.foldReports, SQL.foldStats, SQL.foldTraffic, SQL.forgetActions,
        SQL.forgetAnswers,
        SQL.forgetAudiences, SQL.forgetBatches, SQL.forgetCancels, SQL.forgetCollapseKeys, SQL.forgetEvents,
        SQL.forgetFeedback, SQL.forgetGates, SQL.forgetGrants, SQL.forgetImports, SQL.forgetKeys,
        SQL.forgetReportActions, SQL.forgetReportCounts, SQL.forgetReportDevices, SQL.forgetReports, SQL.forgetRequests,
        SQL.forgetRuns, SQL.forgetScheduledEvents,
        SQL.forgetTopicChanges, SQL.forgetTraffic,
        SQL.hiddenTables,
        SQL.importDevices,
        SQL.isLoadedFrom, SQL.isRingDayOver, SQL.isStandby, SQL.judgeCanaries, SQL.experimentsDue, SQL.settleExperiment,
        SQL.holdExperiment, SQL.keepRequest, SQL.limitEvents,
        SQL.liveQuiet, SQL.liveRates, SQL.liveReports, SQL.lockActivation, SQL.lockQuestion, SQL.logLengths,
        SQL.lookAround,
        SQL.newPreferences,
        SQL.newestEvents, SQL.nextCampaign, SQL.nextScheduled, SQL.nextOpenDigest, SQL.nextQuarantinedEvent,
        SQL.nextQuestion,
        SQL.noteAction, SQL.noteImport, SQL.noteNewest, SQL.notePlanProblem, SQL.noteTopicChange, SQL.notifyFeedback,
        SQL.numberFeedback, SQL.openPlan, SQL.openQueries, SQL.oldLogDays, SQL.openedCursors, SQL.outboxAhead,
        SQL.outboxProbe,
        SQL.outboxSizes,
        SQL.outcomesOverTime, SQL.planDevices, SQL.planForUser, SQL.planNative, SQL.planQuarantinedEvent,
        SQL.planTopics, SQL.planUsers, SQL.probePaths, SQL.publications, SQL.putFeedbackHook,
        SQL.quarantineEvents, SQL.quarantinedEventRules, SQL.queryRuns, SQL.raiseChoreAlarm, SQL.readFeedback,
        SQL.readInstallation, SQL.refuseCampaign, SQL.refuseQuarantinedEvent, SQL.refuseRules,
        SQL.registerTokens, SQL.releaseFeedbackHooks, SQL.reschedule, SQL.retireShapes, SQL.retriedDeliveries,
        SQL.serverEncoding,
        SQL.sessionsAtWork, SQL.standingBatches, SQL.storeAudience, SQL.storeAudienceFailure,
        SQL.storeBadgeFailure, SQL.storeFinding, SQL.storeForeignEvent, SQL.storeMalformedEvent,
        SQL.storedFuses, SQL.takeCampaign, SQL.takeFeedbackHook, SQL.takeQueryRun, SQL.topicIDs, SQL.usersInPayload,
        SQL.tryLock,
        SQL.unlock, SQL.waitingEvents,
        SQL.creditConversions, SQL.dueConversions, SQL.noteConversions, SQL.storeConversions, SQL.findByValue,
        SQL.forgetRetractions, SQL.forgetTouches, SQL.forgetValuePaths,
        SQL.forgetValues, SQL.lockRetractions,
        SQL.nextRetraction, SQL.noteRetracted, SQL.retractedDeliveries, SQL.retractionMatches, SQL.sendRetractions,
    ]
}
