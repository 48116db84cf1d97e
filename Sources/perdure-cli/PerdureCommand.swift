@main struct PerdureCommand { static func main() {} }
