// Package initconfig is the command init. It writes a first configuration from some items of a table.
//
// keys.go finds the patterns of keys and groups the items by them, learn.go the attributes and their types, and write.go
// writes the file. Of an item it writes names of attributes and members of maps, and texts of keys that look like the name of a kind.
package initconfig
