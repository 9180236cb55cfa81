package main

// This file lets clients try a sign-in. With the argument "-tokens FILE", the agent works only if the file exists. With
// the additional argument "-sign-in", the program creates the file.

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm/signin"
)

// password is the password that signIn accepts. A real agent would not reveal it.
const password = "sesame"

// signedIn fails if a sign-in is required but missing.
func (a *agent) signedIn() error {
	if a.tokens == "" {
		return nil
	}
	if _, err := os.Stat(a.tokens); err == nil {
		return nil
	}
	return &jsonrpc2.Error{Code: signin.CodeRequired, Message: "Authentication required"}
}

// authMethods returns the sign-in methods that the client can run.
func (a *agent) authMethods() []any {
	if a.tokens == "" || !a.canSignIn {
		return []any{}
	}
	return []any{map[string]any{
		"id": "password", "name": "Password", "description": "Asks for the password of the example: " + password,
		"type": "terminal", "args": []string{"--sign-in"},
	}}
}

// signIn asks the user at the terminal for the password, and returns the exit code.
func signIn(tokens string) int {
	echo("-echo")
	fmt.Print("Password: ")
	typed, err := bufio.NewReader(os.Stdin).ReadString('\n')
	echo("echo")
	fmt.Println()
	if err != nil || strings.TrimSpace(typed) != password {
		fmt.Println("That is not the password.")
		return 1
	}
	if err := os.WriteFile(tokens, []byte("token\n"), 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("You are signed in.")
	return 0
}

// echo sets whether the terminal shows typed characters, if stty exists.
func echo(setting string) {
	cmd := exec.Command("stty", setting)
	cmd.Stdin = os.Stdin
	cmd.Run()
}
