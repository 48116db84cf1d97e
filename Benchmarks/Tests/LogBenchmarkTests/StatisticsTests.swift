import Testing

@testable import LogBenchmark

@Suite("Statistics of the engine's benchmark")
struct StatisticsTests {
  @Test("The upper bound of a bucket exceeds a duration in it by at most a 64th")
  func buckets() {
    var generator = Scramble(seed: 1)
    for shift in (0..<64).flatMap({ Array(repeating: $0, count: 20) }) {
      let duration = UInt64.random(in: 0 ... .max, using: &generator) >> UInt64(shift)
      let bucket = Histogram.bucket(of: duration)
      let upper = Histogram.upperBound(of: bucket)
      #expect(upper >= duration, "\(duration)")
      #expect(bucket == 0 || Histogram.upperBound(of: bucket - 1) < duration, "\(duration)")
      #expect(upper - duration <= duration / 64 + 1, "\(duration)")
    }
  }

  @Test("Percentiles are accurate within one bucket, and the maximum is exact")
  func percentiles() {
    var histogram = Histogram()
    for duration in 1...1000 { histogram.record(UInt64(duration)) }
    #expect((500...508).contains(histogram.percentile(0.5)))
    #expect((990...1000).contains(histogram.percentile(0.99)))
    #expect(histogram.percentile(1) == 1000)
    #expect(histogram.maximum == 1000)
    #expect(histogram.count == 1000)
  }

  @Test("A single slow call among 10,000 changes the maximum but not the 99.9th percentile")
  func outlier() {
    var histogram = Histogram()
    for _ in 0..<9_999 { histogram.record(10) }
    histogram.record(5_000_000)
    #expect(histogram.percentile(0.999) == 10)
    #expect(histogram.percentile(1) == 5_000_000)
  }

  @Test("Merged histograms equal a histogram that recorded all durations")
  func merging() {
    var (a, b, both) = (Histogram(), Histogram(), Histogram())
    for duration in [3, 70, 900, 12_345] as [UInt64] {
      a.record(duration)
      b.record(duration * 7)
      both.record(duration)
      both.record(duration * 7)
    }
    a.merge(b)
    #expect(a == both)
  }

  @Test("An empty histogram has percentiles of zero, and an empty list has no median")
  func empty() {
    #expect(Histogram().percentile(0.5) == 0)
    #expect(median([]) == nil)
  }

  @Test("The median is the middle value, or the mean of the two middle values")
  func medians() {
    #expect(median([3, 1, 2]) == 2)
    #expect(median([4, 1, 2, 3]) == 2.5)
  }

  @Test("A summary has the median times and the longest call of all rounds")
  func summary() throws {
    func round(_ ns: Double, _ max: UInt64) -> Measurement {
      Measurement(
        engine: "a", workload: "b", shape: "c", n: 1, valueBytes: 1, operations: 1, nsPerOp: ns,
        cpuNsPerOp: ns,
        p50: 1, p99: 1, p999: 1, maxNs: max, diskBytes: 1, memoryBytes: 1)
    }
    let summary = try #require(Measurement.summary(of: [round(5, 10), round(1, 99), round(3, 20)]))
    #expect(summary.nsPerOp == 3)
    #expect(summary.maxNs == 99)
    #expect(summary.rounds == 3)
  }
}
