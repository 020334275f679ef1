// Package sinks makes a running pipeline of a configuration.
//
// [Assemble] builds the sinks of a [config.Config] over the stores that a [Stores] opens. It adds
// the Go sinks, filters and detectors that the file names, and connects filters, detectors, routes and dead
// letters. The result is an ordinary [pipeline.Pipeline]. A Lambda function, a consumer and a
// replay run the same pipeline, so they behave alike.
//
// Start reading at assemble.go, which calls routes.go for each sink. routes.go opens stores (stores.go) with
// fingerprint.go, which checks an output against the state with output_births.go. The other files:
//
//   - What surrounds a sink: staged_sink.go (an output that is being filled), fresh_sink.go, masked_sink.go,
//     held_sink.go, and accept_source.go, which refuses changes of another table.
//   - Go code of a program: extension.go, typed_sink.go, go_filter.go.
//   - The identity and settings of outputs: change_births.go, output_changes.go, empty_output.go, sink_stage.go,
//     left_out.go, routes_digest.go, retention.go (how long versions are kept); adopt.go makes an output belong to a
//     state.
//   - Pipelines for other purposes: plan_only.go; undecodable.go and large_data.go (dead letters and large data);
//     sensitive.go (what is masked), no_entity.go (counts).
package sinks
