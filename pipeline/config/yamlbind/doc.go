// Package yamlbind reads a YAML 1.2 file into a typed struct whose tags declare the keys (rule.go). Whatever is wrong
// comes back at once, as [Problems], each with its line, column, field and what to do about it. [Schema] prints the JSON
// Schema of the same types.
package yamlbind
