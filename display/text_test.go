package display_test

import (
	"fmt"

	"github.com/acpterm/acpterm/display"
)

func ExampleText() {
	fmt.Print(display.Text("\r 10% [=   ]\r100% [====]\n\x1b[32mok\x1b[0m\ttabs stay\n"))
	// Output:
	// 100% [====]
	// ok	tabs stay
}

func ExampleRenderer() {
	var r display.Renderer
	for _, chunk := range []string{"one\n 5", "0%\r 100", "%\ntwo"} {
		for _, line := range r.Write(chunk) {
			fmt.Printf("%q\n", line.Text)
		}
		fmt.Printf("unfinished: %q\n", r.Rest().Text)
	}
	// Output:
	// "one\n"
	// unfinished: " 5"
	// unfinished: " 100"
	// " 100%\n"
	// unfinished: "two"
}
