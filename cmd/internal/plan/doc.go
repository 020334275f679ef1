// Package plan is the command plan: it compares the configuration with what its sinks have written, and says what each
// difference means, how to go on, and what it costs to fill a sink.
//
// options.run calls sinks.CompareOutputs, newReport makes lines of the result, and report.write prints them. The cost of
// filling is in cost.go.
package plan
