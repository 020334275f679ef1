// Package model computes the contents that every sink must have in the end. The input is a configuration as plain data
// ([Config], which also writes itself as YAML) and the records in the order of their arrival.
//
// The model reads the records one by one, keeps the last change of each item, and adds up at the end with math/big. It
// has no batches, transactions, deltas or planners. It shares no code with the product, except for the plain Go records
// of sinks/sinktest. If the product has a choice, such as which item owns a row that several items claim, the model
// returns all permitted results.
package model
