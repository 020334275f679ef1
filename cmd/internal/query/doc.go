// Package query is the command query, which shows what stands in a --local folder.
package query
