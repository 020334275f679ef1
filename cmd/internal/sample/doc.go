// Package sample reads some items of a table for commands that look at typical items, such as init. The items come from
// saved records, from files with an item in each line, such as those of an export, or from pages of a scan.
package sample
