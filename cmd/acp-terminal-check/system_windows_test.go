package main

import _ "github.com/acpterm/acpterm/internal/wintest" // under Wine, it lets tests remove their files
