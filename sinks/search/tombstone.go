package search

import "github.com/tablewake/tablewake/pipeline/record"

// Tombstone returns the tombstone of a document, as the sink of a pipeline writes it. birth is the random id of the
// sink's output.
func Tombstone(pipeline, birth, index, id, routing string, v record.Version) Mutation {
	s := Sink{o: Options{Pipeline: pipeline, Birth: birth}}
	return Mutation{Birth: birth, Index: index, ID: id, Routing: routing, Version: v, Tombstone: true, Why: Leave,
		Doc: s.appendTombstone(nil, v, tombstone)}
}
