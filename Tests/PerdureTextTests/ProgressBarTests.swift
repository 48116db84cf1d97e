import Testing

@testable import PerdureText

@Suite("Progress bars")
struct ProgressBarTests {
  @Test("Without a terminal, progress prints at most one line every two seconds")
  func lines() {
    var bar = ProgressBar("reading", isTerminal: false, start: .zero)
    #expect(bar.show(0, at: .zero) == nil)
    #expect(bar.show(0.1, at: .seconds(1)) == nil)
    #expect(bar.show(0.2, at: .seconds(2)) == "reading: 20 %\n")
    #expect(bar.show(0.3, at: .seconds(3)) == nil)
    #expect(bar.show(0.2, at: .seconds(9)) == nil)
    #expect(bar.show(0.31, at: .seconds(9)) == "reading: 31 %\n")
    #expect(bar.clear() == "")
  }

  @Test("With a count of units, progress lines show the rate and the remaining or total time")
  func units() {
    var bar = ProgressBar("Importing", unit: "packages", isTerminal: false, start: .zero)
    #expect(
      bar.show(0.25, count: 500, at: .seconds(5)) == "Importing: 25 %, 500 packages, 100/s, 15 s left\n")
    #expect(
      bar.show(0.5, count: 1000, at: .seconds(600)) == "Importing: 50 %, 1000 packages, 1/s, 10 min left\n")
    #expect(
      bar.finish(count: 2000, at: .seconds(1000)) == "Importing: 100 %, 2000 packages, 2/s, 1000 s\n")
  }

  @Test("On a terminal, a changed bar is redrawn, and clearing erases the whole bar")
  func bar() {
    var bar = ProgressBar("reading", isTerminal: true, start: .zero)
    #expect(bar.clear() == "")
    #expect(bar.show(1.0 / 3, at: .zero) == "\rreading [#########.....................] 33 %")
    #expect(bar.show(0.333, at: .seconds(9)) == nil)
    #expect(bar.show(1, at: .zero) == "\rreading [##############################] 100 %")
    #expect(bar.clear() == "\r" + String(repeating: " ", count: 46) + "\r")
    // Spaces overwrite the end of a longer bar.
    #expect(bar.show(0, at: .zero) == "\rreading [..............................] 0 %  ")
  }

  @Test("A bar with a count is redrawn when the count changes, at most every 0.1 seconds")
  func redrawing() {
    var bar = ProgressBar("Importing", unit: "packages", isTerminal: true, start: .zero)
    #expect(bar.show(0.5, count: 1, at: .seconds(1)) != nil)
    #expect(bar.show(0.5, count: 2, at: .milliseconds(1050)) == nil)
    #expect(bar.show(0.5, count: 3, at: .milliseconds(1100))?.contains("3 packages") == true)
  }

  @Test("A bar is narrower than its terminal", arguments: [0, 1, 10, 40, 80, 200])
  func width(columns: Int) {
    var bar = ProgressBar(
      "Importing", unit: "packages", isTerminal: true, width: columns, start: .zero)
    let text = bar.show(0.3, count: 7, at: .seconds(3)) ?? ""
    #expect(text.dropFirst().count <= max(0, columns - 1))
  }

  @Test("Invalid fractions are shown as 0 % or 100 %", arguments: [-1, 0, 1e-300, 1, 2.5, .infinity, .nan])
  func bounds(fraction: Double) {
    var bar = ProgressBar("Importing", unit: "packages", isTerminal: true, start: .zero)
    let text = bar.show(fraction, count: 5, at: .seconds(1_000))
    #expect(text?.contains(fraction >= 1 ? "100 %" : "0 %") == true)
  }
}
