package rules

import "github.com/tablewake/tablewake/pipeline"

// ReplicationEchoes is true for the extra MODIFY that a legacy global table adds to every write. The images of that
// MODIFY differ, but only in aws:rep:* attributes.
func ReplicationEchoes() pipeline.Condition { return noChange{echoOnly: true} }
