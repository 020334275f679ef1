package config

import _ "embed"

//go:embed README.md
var reference string

// Reference returns the reference of the file's keys as Markdown.
func Reference() string { return reference }
