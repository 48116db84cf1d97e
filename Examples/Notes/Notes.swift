// Notes in folders: a complete program whose only model is a file of Core Data, Notes.xcdatamodeld.
//
//     swift run Notes
//     swift run perdure model diagram Examples/Notes/Notes.xcdatamodeld --output Notes.svg
//
// The plugin PerdureModelPlugin generates the class of folders, the properties of notes, the struct
// of places and the model. The class of notes overrides `awakeFromInsert`, so it is declared here.

import Foundation
import Perdure

final class Note: ManagedObject {
  override class var entityDescription: EntityDescription { NoteEntity.description }
  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] { NoteEntity.namesByKeyPath }

  override func awakeFromInsert() { edited = Date() }
}

@main
enum Program {
  static func main() throws {
    let container = PersistentContainer(
      name: "Notes", model: try NotesModel.managedObjectModel(), classes: NotesModel.classes,
      description: .inMemory)
    try container.loadPersistentStores()
    try write(container.newContext())
    try read(container.newContext())
  }

  private static func write(_ context: ManagedObjectContext) throws {
    let folder = Folder(context: context)
    folder.name = "Travel"
    for (text, latitude, longitude) in [("Café by the river", 48.2, 16.4), ("Night train", 0, 0)] {
      let note = Note(context: context)
      note.text = text
      if latitude != 0 { note.place = Place(latitude: latitude, longitude: longitude) }
      folder.addToNotes(note)
    }
    folder.notes[0].isPinned = true
    try context.save()
  }

  private static func read(_ context: ManagedObjectContext) throws {
    for folder in try context.fetch(FetchRequest<Folder>()) {
      print("\(folder.name) has \(folder.noteCount) notes")
      for note in folder.notes {
        let place = note.place.map { " at \($0.latitude), \($0.longitude)" } ?? ""
        print("\(note.isPinned ? "*" : "-") \(note.text)\(place)")
      }
    }
    let about = try NotesModel.Requests.about(word: "cafe", in: context.managedObjectModel)
    print("\(try context.count(for: about)) note is about a café")
    let pinned = Note.fetchRequest { $0.isPinned == true && $0.folder.name == "Travel" }
    print("\(try context.count(for: pinned)) note is pinned")
  }
}
