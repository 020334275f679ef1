// Package yamlbind reads a YAML 1.2 file into a typed struct whose tags declare the keys (rule.go). It reports all
// [Problems] at once, each with its line, column, field and a hint. [Schema] prints the JSON Schema of the same types.
package yamlbind
