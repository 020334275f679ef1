// Package lost tests stores that are lost, restored or exchanged while no process runs. Whatever is lost, and whatever
// the operator does then, the pipeline must refuse to continue, or end as after one clean pass.
package lost
