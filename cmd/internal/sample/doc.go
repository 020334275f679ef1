// Package sample reads some items of a table for the commands that learn from them. The items come from saved records,
// from the files of an export or lines with an item each, or from pages of a scan.
package sample
