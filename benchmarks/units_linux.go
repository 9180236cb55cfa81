package main

// Units of rows that are measured on Linux alone.

import (
	"fmt"
	"math"
)

func size(v float64) string {
	switch a := math.Abs(v); {
	case a < 10<<10:
		return fmt.Sprintf("%.0f B", v)
	case a < 1<<20:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	}
	return fmt.Sprintf("%.2f MiB", v/(1<<20))
}
