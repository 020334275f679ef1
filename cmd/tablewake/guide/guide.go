// Package guide has the guides of tablewake and the references of its commands as Markdown. `tablewake guide` shows
// them.
package guide

import "embed"

// Files has a file NAME.md for each topic and for each reference.
//
//go:embed *.md
var Files embed.FS

// Topics returns the topics in the order in which a new user should read them.
func Topics() []string {
	return []string{"start", "concepts", "patterns", "reading", "existing", "operate", "go", "compare", "security",
		"upgrade"}
}

// References returns the names of the commands that have a reference.
func References() []string { return []string{"consume", "backfill", "audit", "template"} }
