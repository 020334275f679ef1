// Package replay is the commands replay and record, and the summary of a run.
package replay
