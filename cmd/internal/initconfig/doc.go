// Package initconfig is the command init. It writes a first configuration from some items of a table.
//
// key_patterns.go finds the patterns of keys and groups the items by these patterns. entity_names.go names the groups
// and the variable parts of their keys. declared_types.go finds the attributes and their types, and config_draft.go
// makes the text of the file. The file contains no values of items, with one exception: texts of keys that look like
// the name of an entity, such as USER. It contains names of attributes and of members of maps.
package initconfig
