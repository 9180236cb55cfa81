package policy_test

import _ "github.com/acpterm/acpterm/internal/wintest" // lets tests remove their files under Wine
