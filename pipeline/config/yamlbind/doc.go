// Package yamlbind reads a YAML 1.2 file into a typed struct whose tags declare the keys. It reports all [Problems] at
// once, each with its line, column, field and a hint. [Schema] prints the JSON Schema of the same types.
//
// type_rules.go lists the tags and their options. Two options need care. apart keeps a key out of the fingerprint, the
// text of the settings that shape a sink's output. So changing a key with apart does not count as a change of the
// output. late leaves the field at zero if the file lacks the key. So the code that uses the field must apply the
// default.
package yamlbind
