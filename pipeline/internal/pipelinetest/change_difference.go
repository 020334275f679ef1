package pipelinetest

import "github.com/tablewake/tablewake/pipeline/record"

// ChangeDifference names a part in which two changes differ. It ignores Raw, Index and Backfill. It returns "" if the
// two changes do not differ in any other part.
func ChangeDifference(a, b *record.Change) string {
	switch {
	case a.Op != b.Op || a.EventName != b.EventName || a.ViewType != b.ViewType:
		return "the operation"
	case a.Key != b.Key || !a.Keys.Equal(b.Keys):
		return "the key"
	case !a.Old.Equal(b.Old) || !a.New.Equal(b.New):
		return "an image"
	case a.Version != b.Version || a.Sequence != b.Sequence || !a.Time.Equal(b.Time):
		return "the version"
	case a.EventID != b.EventID || a.StreamARN != b.StreamARN || a.Table != b.Table || a.Region != b.Region ||
		a.Shard != b.Shard:
		return "the origin"
	case a.Identity != b.Identity || a.SizeBytes != b.SizeBytes:
		return "the identity or the size"
	}
	return ""
}
