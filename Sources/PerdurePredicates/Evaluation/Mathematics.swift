// The functions that call the C mathematics library. Only their results may differ in the last
// digit between platforms.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(ucrt)
  import ucrt
#endif

enum Mathematics {
  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
  static func commonLogarithm(_ number: Double) -> Double { log10(number) }
  static func naturalLogarithm(_ number: Double) -> Double { log(number) }
  static func exponential(_ number: Double) -> Double { exp(number) }
}
