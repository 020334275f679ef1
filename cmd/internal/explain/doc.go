// Package explain has the commands explain and cost. They plan the changes of saved records and write nothing.
//
// Both assemble the pipeline without stores and call Pipeline.Explain for each change. Read explain.go first, then
// explanation_printer.go, which tail shares, and explanation.go.
package explain
