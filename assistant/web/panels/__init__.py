"""The panels of the report view, one module each. `assistant.web.page` says how to add one."""
