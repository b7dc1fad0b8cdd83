import Testing
import Threading

struct ThreadingTests {
    @Test func aProcessMayAllowItselfItsHardLimitOfDescriptors() {
        let limit = DescriptorLimit.raise()
        #expect(limit.soft == limit.hard && limit == .current)
    }

    @Test func lockedCountsExactly() {
        let counter = Locked(0)
        let workers = (0..<4).map { index in
            WorkerThread.start(name: "count-\(index)") {
                for _ in 0..<10_000 { counter.withLock { $0 += 1 } }
            }
        }
        workers.forEach { $0.join() }
        #expect(counter.withLock { $0 } == 40_000)
    }

    @Test func mailboxHandsOutWhatWasPutBeforeClose() {
        let mailbox = Mailbox<Int>()
        mailbox.put(1)
        mailbox.put(2)
        mailbox.close()
        #expect(!mailbox.put(3))
        #expect(mailbox.take() == [1, 2])
        #expect(mailbox.take() == nil)
    }

    @Test func mailboxTimesOutEmpty() {
        let mailbox = Mailbox<Int>()
        #expect(mailbox.take(timeout: .zero) == [])
        #expect(mailbox.take(timeout: .milliseconds(5)) == [])
    }

    @Test func mailboxWakesASleepingReader() async {
        let mailbox = Mailbox<String>()
        let seen = Locked<[String]>([])
        let reader = WorkerThread.start(name: "reader") {
            while let items = mailbox.take() { seen.withLock { $0 += items } }
        }
        mailbox.put("a")
        mailbox.put("b")
        mailbox.close()
        await reader.value()
        #expect(seen.withLock { $0 } == ["a", "b"])
    }
}
