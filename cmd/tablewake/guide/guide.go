// Package guide holds the guides of tablewake as Markdown. `tablewake guide` shows them.
package guide

import "embed"

// Files holds the file TOPIC.md of each topic.
//
//go:embed *.md
var Files embed.FS

// Topics returns the topics in the order in which a new user reads them.
func Topics() []string {
	return []string{"start", "concepts", "patterns", "reading", "existing", "operate", "go", "compare", "security", "upgrade"}
}
