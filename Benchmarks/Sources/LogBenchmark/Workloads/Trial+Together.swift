import CLogFloor
import Foundation
import Synchronization

// Workloads with several threads. The written values do not depend on the schedule, because each
// thread has its own keys.

extension Trial {
  func workTogether(_ engine: Engine) throws {
    if isWanted(.readWhileWriting) { try readWhileWriting(engine) }
    try commitDurably(engine, .durable1, writers: 1)
    try commitDurably(engine, .durable8, writers: 8)
  }

  /// One thread overwrites in commits of one record. The other thread reads the newest state until
  /// the first one has ended.
  private func readWhileWriting(_ engine: Engine) throws {
    let workload = Workload.readWhileWriting
    let (shape, pool, records, seed) = (shape, pool, records, seed(of: workload))
    let count = max(min(records, plan.operations) / 4, 1)
    let isDone = Signal()
    let result = Shared((Cost(nanoseconds: 0, cpuNanoseconds: 0), Histogram()))
    try Threads.run(2) { number in
      if number == 0 {
        defer { isDone.set() }
        var writer = try engine.makeWriter()
        defer { writer.end() }
        var generator = Scramble(seed: seed)
        for _ in 0..<count {
          let ordinal = Int.random(in: 0..<records, using: &generator)
          try writer.put(shape.key(ordinal), pool.value(generator.next()), shape.valueLength)
        }
      } else if Engine.readsWhileWriting {
        var view = try engine.makeView()
        defer { view.end() }
        var generator = Scramble(seed: ~seed)
        var sum: UInt64 = 0
        var recorder = LatencyRecorder()
        repeat {
          try view.advance()
          sum &+= try view.read(shape.key(Int.random(in: 0..<records, using: &generator))) ?? 1
          recorder.lap()
        } while !isDone.isSet
        precondition(sum != 0, "The reader must have read a value.")
        result.withLock { $0 = (recorder.elapsed, recorder.histogram) }
      }
    }
    let (cost, calls) = result.withLock { $0 }
    report(workload, calls.count, cost, calls)
  }

  /// Makes commits of one record each, which are acknowledged when they are durable.
  private func commitDurably(_ engine: Engine, _ workload: Workload, writers: Int) throws {
    guard isWanted(workload) else { return }
    try engine.setDurable(true)
    let (shape, pool, records, seed) = (shape, pool, records, seed(of: workload))
    let count = max(plan.durableCommits / writers, 1) * (writers == 1 ? 1 : 2)
    let calls = Shared(Histogram())
    // The first sync includes earlier writes, so it is not measured.
    var warm = try engine.makeWriter()
    for ordinal in 0..<3 { try warm.put(shape.key(ordinal % records), pool.value(seed), shape.valueLength) }
    warm.end()
    let cost = try Cost.of {
      try Threads.run(writers) { number in
        var writer = try engine.makeWriter()
        defer { writer.end() }
        var generator = Scramble(seed: seed &+ UInt64(number) << 32)
        var recorder = LatencyRecorder()
        for _ in 0..<count {
          let ordinal = Int.random(in: 0..<max(records / writers, 1), using: &generator) * writers + number
          try writer.put(shape.key(ordinal), pool.value(generator.next()), shape.valueLength)
          recorder.lap()
        }
        calls.withLock { $0.merge(recorder.histogram) }
      }
    }
    try engine.setDurable(false)
    report(workload, count * writers, cost, calls.withLock { $0 })
  }
}

/// A flag that one thread sets and all threads can read.
final class Signal: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }

  func set() { value.store(true, ordering: .releasing) }
}

/// A counter that one thread increments and all threads can read.
final class Counter: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }

  func increment() { count.add(1, ordering: .relaxed) }
}
