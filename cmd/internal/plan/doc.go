// Package plan is the command plan. It compares the configuration with the outputs of its sinks. For each difference it
// prints the effect, the next command, and the cost of filling the sink.
//
// options.run calls sinks.CompareOutputs. newReport turns the result into a report, and report.write prints it. The
// cost of filling is in filling_cost.go.
package plan
