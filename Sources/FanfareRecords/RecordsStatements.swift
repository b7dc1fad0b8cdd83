package import PostgresClient

/// The statements of this target, for tools that show or test them.
package enum RecordsStatements {
    /// All statements.
    package static let all = types.map { StatementText(name: $0.name, sql: $0.sql) } + values.map(\.text)

    private static let types: [any PostgresStatement.Type] = [
        ActualIdentity.self, AppUse.self, CampaignActionLog.self, CampaignTimes.self, EmitEvents.self,
        EventPushes.self, ExportDevices.self, ExportDevicesWithTokens.self, FindNamed.self, FindPruned.self,
        FindWaiting.self, LimitDevices.self, ListDevices.self, ListSubscribers.self, NextRun.self,
        RecordedIdentity.self, RegisterDevice.self, RestoreDevices.self, SessionLimits.self, TailEvents.self,
        TailPushes.self,
    ]

    private static let values: [any StatementValue] = [
        SQL.abortCampaign, SQL.adoptDatabase, SQL.appNames, SQL.areCampaignsUnchecked, SQL.areRulesUnchecked,
        SQL.authorsLimits, SQL.campaignErrors, SQL.campaignHistory, SQL.campaignWaves, SQL.canaryStanding,
        SQL.cancelEvent, SQL.cancelEvents, SQL.cancelKey, SQL.countAttempts, SQL.createAPIToken,
        SQL.databaseNow, SQL.deviceOwner, SQL.devicesOfOthers, SQL.dropCampaign, SQL.dropRule, SQL.endSession,
        SQL.eventEnds, SQL.eventHead, SQL.eventIDAt, SQL.eventOutcomes, SQL.eventRun, SQL.eventVariants,
        SQL.eventsOfKey, SQL.findCampaignRun, SQL.findDevices, SQL.findEvents, SQL.findRun, SQL.findTrial,
        SQL.forgetFeedbackHook, SQL.forgetUser, SQL.hasAutovacuum, SQL.hasRelation, SQL.isDaemonAlive,
        SQL.isSessionEnded, SQL.judgeWhen, SQL.lastDeliveries, SQL.lastRuns, SQL.listAPITokens, SQL.listBacklog,
        SQL.listDaemons, SQL.listFeedbackHooks, SQL.listHealth, SQL.listLiveCampaigns, SQL.listQueues,
        SQL.listTokens, SQL.listUnsent, SQL.markCampaignsFromFile, SQL.markRulesFromFile, SQL.missingPrivileges,
        SQL.missingRoles, SQL.noteTokenUse, SQL.outcomeMeanings, SQL.pauseCampaign, SQL.policyErrors,
        SQL.pruneReasons, SQL.prunedSince, SQL.putCampaigns, SQL.putPolicies, SQL.putRules,
        SQL.readCursorSecret, SQL.readyAges, SQL.replayEvent, SQL.replayFeedback, SQL.resumeCampaign,
        SQL.resumeFeedback, SQL.revokeAPIToken, SQL.ruleErrors, SQL.ruleOutcomes, SQL.ruleVariant,
        SQL.ruleVersions, SQL.ruleWeeks, SQL.runningCampaigns, SQL.sampleDevices, SQL.schemaVersion,
        SQL.setPreference, SQL.showDevice, SQL.showEvent, SQL.snoozeUser, SQL.startCampaign,
        SQL.storedCampaigns, SQL.storedPolicies, SQL.storedRules, SQL.subscribeDevices, SQL.tailStart,
        SQL.testCampaign, SQL.unknownTimeZones, SQL.unplannedEvents, SQL.unregisterDevice,
        SQL.unregisterDeviceByID, SQL.unsubscribeDevices, SQL.userDevices, SQL.userPreferences, SQL.userPushes,
        SQL.whyRows, SQL.whyVerdicts,
    ]
}
