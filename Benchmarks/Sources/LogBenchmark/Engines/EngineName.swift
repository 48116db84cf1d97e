import ArgumentParser

/// The engines with their names on the command line, in the order of the table.
enum EngineName: String, CaseIterable, ExpressibleByArgument {
  case floor, perdure, lmdb
  case lmdbWriteMap = "lmdb-writemap"
  case rocksdb, leveldb, sqlite

  /// Calls generic code with the engine's type, so that the compiler specializes it for the engine.
  func open<R>(_ user: some EngineUser<R>) throws -> R {
    switch self {
    case .floor: try user.use(FloorEngine.self)
    case .perdure: try user.use(PerdureEngine.self)
    case .lmdb: try user.use(LMDBEngine.self)
    case .lmdbWriteMap: try user.use(LMDBWriteMapEngine.self)
    case .rocksdb: try user.use(RocksDBEngine.self)
    case .leveldb: try user.use(LevelDBEngine.self)
    case .sqlite: try user.use(SQLiteEngine.self)
    }
  }
}

/// Code that is generic over the type of an engine.
protocol EngineUser<Result> {
  associatedtype Result
  func use<Engine: LogEngine>(_ engine: Engine.Type) throws -> Result
}

extension EngineName {
  /// The name of the engine in tables, and its settings.
  var description: (title: String, settings: String) {
    get throws {
      struct Describe: EngineUser {
        func use<Engine: LogEngine>(_ engine: Engine.Type) -> (title: String, settings: String) {
          (Engine.name, Engine.settings)
        }
      }
      return try open(Describe())
    }
  }
}
