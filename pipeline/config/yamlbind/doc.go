// Package yamlbind reads a YAML 1.2 file into a typed struct whose tags declare the keys. It reports all [Problems] at
// once, each with its line, column, field and a hint. [Schema] prints the JSON Schema of the same types.
//
// type_rules.go lists the tags and their options. Two options need care. The option `apart` keeps a key out of the
// fingerprint, the settings that shaped a sink's output. A new value of such a key does not count as a change of the
// output. The option `late` leaves the field at zero if the file lacks the key. The code that uses the field must then
// apply the default.
package yamlbind
