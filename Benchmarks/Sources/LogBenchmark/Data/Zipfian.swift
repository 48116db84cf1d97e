import Foundation

/// Random numbers below `count`. A few of them are frequent, as in YCSB. The ranks are chosen by
/// the method of Gray and others (SIGMOD 1994), and are then distributed over all numbers.
struct Zipfian {
  private let count: Int
  private let theta: Double
  private let zeta: Double
  private let alpha: Double
  private let eta: Double

  init(count: Int, theta: Double = 0.99) {
    self.count = count
    self.theta = theta
    var sum = 0.0
    for rank in 1...count { sum += 1 / pow(Double(rank), theta) }
    zeta = sum
    alpha = 1 / (1 - theta)
    eta = (1 - pow(2 / Double(count), 1 - theta)) / (1 - (1 + pow(0.5, theta)) / sum)
  }

  /// A random rank. Rank 0 is the most frequent.
  func rank(_ generator: inout Scramble) -> Int {
    let u = Double(generator.next() >> 11) * 0x1p-53
    let uz = u * zeta
    if uz < 1 { return 0 }
    if uz < 1 + pow(0.5, theta) { return 1 }
    return min(count - 1, Int(Double(count) * pow(eta * u - eta + 1, alpha)))
  }

  func scattered(_ generator: inout Scramble) -> Int {
    Int(Scramble.mix(UInt64(rank(&generator))) % UInt64(count))
  }
}
