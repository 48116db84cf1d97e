import Testing

@testable import DebianIndexReading

@Suite("Progress") struct ProgressBarTests {
  private final class Screen {
    var text = ""
    var time = 0.0
  }

  private func bar(on screen: Screen, isTerminal: Bool) -> ProgressBar {
    ProgressBar(
      "Importing", unit: "stanzas", isTerminal: isTerminal, width: 80, write: { screen.text += $0 },
      now: { screen.time })
  }

  @Test("In a pipe there is a plain line every five seconds and one at the end")
  func pipe() {
    let screen = Screen()
    var bar = bar(on: screen, isTerminal: false)
    for second in 1...10 {
      screen.time = Double(second)
      bar.update(fraction: Double(second) / 20, count: second * 100)
    }
    bar.finish(count: 2_000)
    #expect(
      screen.text == """
        Importing: 25 %, 500 stanzas, 100/s, 15 s left
        Importing: 50 %, 1000 stanzas, 100/s, 10 s left
        Importing: 100 %, 2000 stanzas, 200/s, 10 s

        """)
  }

  @Test("On a terminal one line is redrawn and never wider than the terminal")
  func terminal() {
    let screen = Screen()
    var bar = bar(on: screen, isTerminal: true)
    screen.time = 0.05
    bar.update(fraction: 0.01, count: 1)
    #expect(screen.text.isEmpty)
    screen.time = 2
    bar.update(fraction: 0.5, count: 1_000)
    #expect(screen.text.hasPrefix("\r\u{1B}[KImporting [###"))
    #expect(screen.text.contains("#.") && screen.text.contains("50 % 1000 stanzas, 500/s, 2 s left"))
    bar.finish(count: 2_000)
    #expect(screen.text.hasSuffix("\n"))
    for width in [0, 1, 10, 40, 80, 200] {
      let line = ProgressBar.Line(title: "Importing", fraction: 0.3, count: 7, unit: "stanzas", elapsed: 3)
      #expect(line.bar(width: width).count <= max(0, width - 1))
    }
  }

  @Test("Nonsense fractions stay within bounds", arguments: [-1, 0, 1, 2.5, .infinity, .nan])
  func bounds(fraction: Double) {
    let screen = Screen()
    var bar = bar(on: screen, isTerminal: true)
    screen.time = 1_000
    bar.update(fraction: fraction, count: 5)
    #expect(!screen.text.isEmpty)
  }
}
