package import PerdureLog

/// The address of a value: the name of its keyspace, and its key.
package struct CrashKey: Hashable, Sendable {
  package var keyspace: String
  package var key: Key

  package init(keyspace: String, key: Key) {
    self.keyspace = keyspace
    self.key = key
  }
}

extension Snapshot {
  /// The value of a key, in a keyspace of any kind; nil if the key is absent.
  package func value(of key: Key, in keyspace: Keyspace) throws -> [UInt8]? {
    switch key {
    case .id(let id): try value(id: id, in: keyspace)
    case .bytes(let bytes): try value(key: bytes, in: keyspace)
    }
  }
}

extension WriteTransaction {
  /// Puts a value, or removes it if `value` is nil.
  package mutating func set(_ value: [UInt8]?, of key: Key, in keyspace: Keyspace) throws {
    switch (key, value) {
    case (.id(let id), let value?): try put(value, id: id, in: keyspace)
    case (.id(let id), nil): try remove(id: id, in: keyspace)
    case (.bytes(let bytes), let value?): try put(value, key: bytes, in: keyspace)
    case (.bytes(let bytes), nil): try remove(key: bytes, in: keyspace)
    }
  }
}

extension StoreTransaction {
  /// The value of a key as the transaction sees it; nil if the key is absent.
  mutating func value(of key: Key, in keyspace: Keyspace) throws -> [UInt8]? {
    switch key {
    case .id(let id): try value(id: id, in: keyspace)
    case .bytes(let bytes): try value(key: bytes, in: keyspace)
    }
  }

  /// Puts a value, or removes it if `value` is nil.
  mutating func set(_ value: [UInt8]?, of key: Key, in keyspace: Keyspace) throws {
    switch (key, value) {
    case (.id(let id), let value?): try put(value, id: id, in: keyspace)
    case (.id(let id), nil): try remove(id: id, in: keyspace)
    case (.bytes(let bytes), let value?): try put(value, key: bytes, in: keyspace)
    case (.bytes(let bytes), nil): try remove(key: bytes, in: keyspace)
    }
  }
}
