/// The files of `deploy/examples/browser`, as of the build.
enum DevPageFiles {
    /// A served file.
    struct File: Sendable {
        /// Its content.
        let content: [UInt8]
        /// Its media type.
        let type: String
    }

    /// Returns the file at a path; nil if there is none.
    static func at(_ path: String) -> File? {
        switch path {
        case "/": File(content: PackageResources.index_html, type: "text/html; charset=utf-8")
        case "/page.js": File(content: PackageResources.page_js, type: "text/javascript; charset=utf-8")
        case "/service-worker.js":
            File(content: PackageResources.service_worker_js, type: "text/javascript; charset=utf-8")
        default: nil
        }
    }
}
