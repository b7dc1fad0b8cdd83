internal import FanfareStages
internal import ServiceLifecycle
internal import Threading

/// Runs a stage as a service, on its own thread.
struct StageService: Service, CustomStringConvertible {
    let stage: any Stage
    let pulses: Pulses

    var description: String { stage.name }

    func run() async throws {
        let thread = WorkerThread.start(name: stage.name) {
            stage.run()
            pulses.rest(stage.name)
        }
        await withGracefulShutdownHandler {
            await withTaskCancellationHandler {
                await thread.value()
            } onCancel: {
                stage.stop()
            }
        } onGracefulShutdown: {
            stage.stop()
        }
    }
}
