// Package sinks makes a running pipeline of a configuration.
//
// [Assemble] builds the sinks of a [config.Config] over the stores that a [Stores] opens. It adds
// the Go sinks, filters and detectors that the file names, and connects filters, detectors, routes and dead
// letters. The result is an ordinary [pipeline.Pipeline]. A Lambda function, a consumer and a
// replay run the same pipeline, so they behave alike.
//
// Start reading at pipeline_assembly.go. It opens stores (stores.go) with settings_fingerprint.go, which checks an
// output against the state with output_births.go. Then it calls sink_routes.go for each sink. The other files:
//
//   - What surrounds a sink: sink_forwarder.go, staged_sink.go (an output that is being filled), fresh_sink.go,
//     masked_sink.go, held_go_sink.go, and source_table_filter.go, which refuses changes of another table.
//   - Go code of a program: go_extension.go, typed_sink.go, go_filter.go.
//   - The identity and settings of outputs: birth_update.go, output_changes.go, empty_output.go, sink_stage.go,
//     left_out_sinks.go, routes_digest.go, sink_retention.go (how long versions are kept); output_adoption.go makes an
//     output belong to a state.
//   - A pipeline that only plans: plan_only_stores.go.
//   - Dead letters and large data: undecodable_stop.go, large_data_location.go.
//   - sensitive_mask.go masks the attributes that the file calls sensitive. no_entity_count.go counts the changes that
//     belong to no entity.
package sinks
