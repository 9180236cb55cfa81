import js from '@eslint/js'
import globals from 'globals'

export default [
  js.configs.recommended,
  {
    rules: {
      'no-control-regex': 'off', // they are what terminals are about
      'no-unused-vars': ['error', { varsIgnorePattern: '^_$' }], // of a loop that counts
    },
  },
  { files: ['**/*.js'], languageOptions: { globals: globals.browser } },
  { files: ['**/*.mjs'], languageOptions: { globals: globals.node } },
]
