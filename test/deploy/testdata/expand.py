"""Prints what AWS makes of a SAM template, as CloudFormation. It runs with SAM's own Python.

    python expand.py template.yaml region
"""
import sys

from samcli.lib.translate.sam_template_validator import SamTemplateValidator
from samcli.yamlhelper import yaml_parse


class NoManagedPolicies:
    """Stands where SAM asks IAM for the names of its managed policies: none is used."""

    def load(self):
        return {}


with open(sys.argv[1], encoding="utf-8") as file:
    template = yaml_parse(file.read())
print(SamTemplateValidator(template, NoManagedPolicies(), region=sys.argv[2]).get_translated_template_if_valid())
