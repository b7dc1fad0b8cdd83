package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum RecordsStatements {
    /// All statements.
    package static let all = types.map { StatementText(name: $0.name, sql: $0.sql) } + values.map(\.text)

    private static let types: [any PostgresStatement.Type] = [
        CampaignTimes.self, EmitEvents.self, NextRun.self,
    ]

    private static let values: [any StatementValue] = [
        SQL.abortCampaign, SQL.actualIdentity, SQL.adoptDatabase, SQL.appNames, SQL.appUse,
        SQL.areCampaignsUnchecked, SQL.areRulesUnchecked, SQL.authorsLimits, SQL.campaignActionLog,
        SQL.campaignErrors, SQL.campaignFunnel, SQL.campaignHistory, SQL.campaignWaves, SQL.canaryStanding,
        SQL.cancelEvent,
        SQL.cancelEvents, SQL.cancelKey, SQL.cancelMessage, SQL.countAttempts, SQL.countReportsPending, SQL.countTokens,
        SQL.createAPIToken,
        SQL.databaseNow,
        SQL.deviceOwner, SQL.devicesOfOthers, SQL.dropCampaign, SQL.dropRule, SQL.endSession, SQL.eventEnds,
        SQL.eventFunnel, SQL.eventHead, SQL.eventLift, SQL.ruleLift, SQL.eventIDAt, SQL.eventOf, SQL.eventOutcomes,
        SQL.eventPushes, SQL.eventRun,
        SQL.eventVariants,
        SQL.eventsOfKey, SQL.exportDevices, SQL.exportDevicesWithTokens, SQL.findCampaignRun, SQL.findDevices,
        SQL.findEvents, SQL.findNamed, SQL.findPruned, SQL.findRun, SQL.findScheduled, SQL.findTrial, SQL.findWaiting,
        SQL.forgetFeedbackHook, SQL.forgetUser, SQL.hasAutovacuum, SQL.hasRelation, SQL.isDaemonAlive,
        SQL.isSessionEnded, SQL.judgeWhen, SQL.lastDeliveries, SQL.lastRuns, SQL.limitDevices,
        SQL.listAPITokens, SQL.listBacklog, SQL.listDaemons, SQL.listDevices, SQL.listFeedbackHooks,
        SQL.listHealth, SQL.listLiveCampaigns, SQL.listQueues, SQL.listSubscribers, SQL.listTokens,
        SQL.listUnsent, SQL.markCampaignsFromFile, SQL.markRulesFromFile, SQL.missingPrivileges,
        SQL.missingRoles, SQL.moveMessage, SQL.moveScheduled, SQL.noteTokenUse, SQL.outcomeMeanings, SQL.pauseCampaign,
        SQL.policyErrors,
        SQL.pruneReasons, SQL.prunedSince, SQL.putCampaigns, SQL.putPolicies, SQL.putRules,
        SQL.readCursorSecret, SQL.readyAges, SQL.recordedIdentity, SQL.registerDevice, SQL.replayEvent,
        SQL.replayFeedback, SQL.reportKey, SQL.restoreDevices, SQL.retractEvent, SQL.retractKey, SQL.retractedIDs,
        SQL.resumeCampaign, SQL.resumeFeedback, SQL.revokeAPIToken,
        SQL.ruleErrors, SQL.ruleFunnel, SQL.ruleOutcomes, SQL.ruleVariant, SQL.ruleVersions, SQL.ruleWeeks,
        SQL.runningCampaigns, SQL.sampleDevices, SQL.scheduledMessages, SQL.schemaVersion, SQL.sendMessage,
        SQL.sessionLimits,
        SQL.setPreference, SQL.showDevice, SQL.showEvent, SQL.showScheduled, SQL.snoozeUser, SQL.startCampaign,
        SQL.storedCampaigns,
        SQL.storedPolicies, SQL.storedRules, SQL.subscribeDevices, SQL.tailEvents, SQL.tailPushes,
        SQL.tailStart, SQL.takeReports, SQL.testCampaign, SQL.unknownTimeZones, SQL.unplannedEvents,
        SQL.unregisterDevice,
        SQL.unregisterDeviceByID, SQL.unsubscribeDevices, SQL.userDevices, SQL.userPreferences, SQL.userPushes,
        SQL.whyRows, SQL.whyVerdicts,
    ]
}
