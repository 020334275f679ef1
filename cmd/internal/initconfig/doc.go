// Package initconfig is the command init. It writes a first configuration from some items of a table.
//
// keys.go finds the patterns of keys and groups the items by them, learn.go the attributes and their types, and write.go
// writes the file. Nothing of an item is written but names of attributes and prefixes of keys.
package initconfig
