internal import FanfareProviders

extension CheckItem {
    init(_ name: String, _ error: ToolError) {
        self.init(.fail, name, error.reason, advice: error.hint)
    }
}
