@main struct DebianArchive { static func main() {} }
