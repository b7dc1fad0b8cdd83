/// The projects that exist at FCM.
struct FCMProjects {
    /// The project of the service account.
    let id: String
    /// Projects that exist but that the service account may not use.
    let foreignIDs: Set<String>

    /// Checks a request's access token and project.
    ///
    /// - Parameters:
    ///   - credential: the error of the access token; nil if it is valid.
    ///   - project: the project in the request's path.
    ///   - permission: the permission that the request needs.
    /// - Returns: the error of the response, or nil.
    func failure(_ credential: AccessTokenState.Failure?, project: String, permission: String) -> GoogleError? {
        switch credential {
        case .missing?:
            return GoogleError(status: 401, message: "Request is missing required authentication credential.")
        case .invalid?:
            return GoogleError(
                status: 401,
                message: "Request had invalid authentication credentials. Expected OAuth 2 access token."
            )
        case nil: break
        }
        if project == id { return nil }
        // Whether the real service tells another sender's project from a missing one is unknown; a client should handle
        // both.
        guard foreignIDs.contains(project) else {
            return GoogleError(status: 404, message: "Requested entity was not found.")
        }
        return GoogleError(status: 403, message: "Permission '\(permission)' denied on resource 'projects/\(project)'.")
    }
}
