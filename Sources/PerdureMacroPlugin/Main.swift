import PerdureMacros

/// The program that the compiler starts.
@main struct Main {
  static func main() { MacroPlugin.run() }
}
